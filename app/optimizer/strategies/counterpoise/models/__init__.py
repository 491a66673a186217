"""The models that promotion relies on: one per objective, and co-models of slow
objectives.
"""
