"""Rule report: summary, figures, examples and records -> one offline page."""
