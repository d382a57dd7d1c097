"""Models behind a server that speaks OpenAI's protocol, or one that its maker has: somebody's, or
ours for a job.
"""
