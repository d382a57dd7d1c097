"""How models are run: batches of one length, an audit, arithmetic."""
