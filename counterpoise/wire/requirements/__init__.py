"""Requirements: inequalities over the variables, in a small expression language.

A text is parsed to a tree, which is checked and evaluated; Python never evaluates it.
"""
