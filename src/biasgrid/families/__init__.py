"""Families of datasets: what is asked, and how the answers become measures. A family never imports
a model.
"""
