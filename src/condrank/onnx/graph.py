"""The operations of an exported model: a vector for each side, their inner products, and the offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.onnx.sides import Radial, Side

# The versions of the operators and of the format: old enough for most programs that run ONNX files.
OPSET, FORMAT = 17, 8


class GraphBuilder:
    """Nodes and constants of a graph, in the order in which they are computed.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Type of all numbers.
    """

    def __init__(self, dtype: str):
        import onnx

        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def put(self, name: str, values: Any) -> str:
        """A constant; returns its name."""
        array = np.asarray(values)
        array = array if array.dtype.kind == "i" else array.astype(self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} of the model overflows in {self.dtype}; use dtype='float64', or scale the data")
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def call(self, operator: str, name: str, *inputs: str, **options: Any) -> str:
        """One operation; returns the name of its output."""
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **options))
        return name

    def vectors(self, side: Side, given: str) -> str:
        """Vectors of the nodes of an input; returns their name."""
        X = given
        if isinstance(side, Radial):
            # Distances do not change if all points move. Near the origin the squares lose the fewest digits.
            centre = side.points.mean(axis=0)
            points = side.points - centre
            X = self.call("Mul", f"{given}_weighted", X, self.put(f"{given}_weights", side.weights))
            X = self.call("Sub", f"{given}_centred", X, self.put(f"{given}_centre", centre))
            squares = self.call("Mul", f"{given}_squares", X, X)
            axis = self.put(f"{given}_axis", np.array([1], dtype=np.int64))
            norms = self.call("ReduceSum", f"{given}_norms", squares, axis, keepdims=1)
            products = self.call("MatMul", f"{given}_products", X, self.put(f"{given}_points", 2 * points.T))
            far = self.call("Add", f"{given}_far", norms, self.put(f"{given}_point_norms", (points**2).sum(axis=1)))
            distances = self.call("Sub", f"{given}_distances", far, products)
            scaled = self.call("Mul", f"{given}_scaled", distances, self.put(f"{given}_gamma", -side.gamma))
            X = self.call("Exp", f"{given}_kernel", scaled)
        product = self.call("MatMul", f"{given}_product", X, self.put(f"{given}_matrix", side.M))
        return self.call("Add", f"{given}_vectors", product, self.put(f"{given}_bias", side.b))

    def model(self, queries: Side, objects: Side, offset: float, facts: dict[str, str], version: str) -> Any:
        """The whole model: queries (n, d) and objects (m, d') to scores (n, m)."""
        helper, onnx = self.onnx.helper, self.onnx
        Q, V = self.vectors(queries, "queries"), self.vectors(objects, "objects")
        turned = self.call("Transpose", "objects_turned", V, perm=[1, 0])
        products = self.call("MatMul", "products", Q, turned)
        self.call("Add", "scores", products, self.put("offset", offset))
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        inputs = [
            helper.make_tensor_value_info(name, kind, [count, side.n_features])
            for name, count, side in (("queries", "n_queries", queries), ("objects", "n_objects", objects))
        ]
        output = helper.make_tensor_value_info("scores", kind, ["n_queries", "n_objects"])
        graph = helper.make_graph(self.nodes, "condrank", inputs, [output], self.constants)
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=FORMAT,
            producer_name="condrank",
            producer_version=version,
        )
        helper.set_model_props(made, facts)
        onnx.checker.check_model(made)
        return made
