"""`anabranch bench content`: the paper's figures on content-based routing, ours beside them."""

from anabranch.bench.content_replay import COUNTED
from anabranch.bench.content_spark import MEASURED
from anabranch.bench.runner import Bench

CONTENT = Bench("Content-based routing", COUNTED, MEASURED)
