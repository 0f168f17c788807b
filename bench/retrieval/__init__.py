"""Training and testing of max retrieval beside its peers: compare.py."""
