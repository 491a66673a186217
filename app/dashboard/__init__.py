"""The pages: static files that read the public REST JSON, and the routes that serve
them.
"""
