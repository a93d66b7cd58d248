"""Nodes with features and the relation observed between them."""

from condrank.graph.relation_graph import RelationGraph

__all__ = ["RelationGraph"]
