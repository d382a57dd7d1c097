"""Figures of whole cells: how strong the bias is, and what hangs on templates, order or luck."""
