"""Ensemble size, write quorum and ack quorum, as ledgers may have them."""

from hypothesis import strategies as st


def _quorums(ensemble, write):
    return st.tuples(st.just(ensemble), st.just(write), st.integers(1, write))


sizes = st.integers(1, 5).flatmap(
    lambda ensemble: st.integers(1, ensemble).flatmap(lambda write: _quorums(ensemble, write))
)
