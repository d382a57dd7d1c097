"""Families of datasets: questions, and the way from answers to measures.

A family never imports a model.
"""
