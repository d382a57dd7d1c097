"""Figures of single associations: which subject goes with which attribute."""
