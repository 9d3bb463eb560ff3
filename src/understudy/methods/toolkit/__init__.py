"""What methods are made of: candidates under a size limit, greedy networks, terms of a plan, estimators, merging.

A paper's folder imports from here and from no other paper's folder.
"""
