"""What the stateful test stands on, in two modules beside it: what it expects, and its fork."""

import sys
from pathlib import Path

# pytest imports each test file by its place and looks for no module there.
sys.path.insert(0, str(Path(__file__).parent))
