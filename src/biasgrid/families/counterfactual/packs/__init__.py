"""Packs: templates, fillings and groups, as their files have them and as expansion takes them."""
