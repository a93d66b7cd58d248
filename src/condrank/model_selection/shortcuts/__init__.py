"""Cross-validation without refitting: exact scores of models that were fitted without a row, a node or an edge.

All use one rule of linear smoothers. Let K̄ be the edge kernel over all ordered pairs, R = (K̄ + λ)⁻¹ (for the ranking
loss, with each row's free offset projected out) and S the pairs left out. Then the residuals y - f of the model without
S are [R_SS]⁻¹ (R y)_S. In the eigenbasis of the node kernel R is diagonal, or nearly so.
"""

from condrank.model_selection.shortcuts.leave_edge_out import LeaveEdgeOut
from condrank.model_selection.shortcuts.leave_node_out import LeaveNodeOut
from condrank.model_selection.shortcuts.leave_query_out import LeaveQueryOut
from condrank.model_selection.shortcuts.two_step import TwoStepShortcuts

__all__ = ["LeaveEdgeOut", "LeaveNodeOut", "LeaveQueryOut", "TwoStepShortcuts"]
