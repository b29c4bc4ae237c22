"""Where candidates come from: one module a proposer."""

from asmevo.search.proposers.shipped import PIPELINES, PipelineProposer, Proposal, ReorderProposer

__all__ = ["PIPELINES", "PipelineProposer", "Proposal", "ReorderProposer"]
