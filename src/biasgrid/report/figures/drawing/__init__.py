"""Shared drawing code: the specification of figures, their panels, look and context."""
