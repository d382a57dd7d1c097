"""Figures of whole cells: how strong bias is, and its part due to templates, order or chance."""
