"""Models behind servers that speak OpenAI's or Anthropic's protocol."""
