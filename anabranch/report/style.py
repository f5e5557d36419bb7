"""How pictures look."""

from typing import Any

# A palette that stays apart for the colour-blind (Okabe and Ito), used in one order throughout.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


def plain_layout(figure: Any, axis: str, height: int) -> Any:
    """Little ink: white, the legend above."""
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 10, "r": 10, "t": 40, "b": 40},
        xaxis_title=axis,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "traceorder": "normal"},
    )
    figure.update_yaxes(automargin=True)
    return figure
