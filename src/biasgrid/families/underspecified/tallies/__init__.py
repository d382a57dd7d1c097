"""Sums over swap groups, to which the parts of a cell are added one after the other."""
