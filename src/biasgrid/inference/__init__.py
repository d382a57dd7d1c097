"""Who answers: how models are loaded and run, here or behind a server."""
