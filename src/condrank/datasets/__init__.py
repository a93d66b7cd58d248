"""Data sets to try things on: generated relations of any size, and loaders for real data sets.

The ``make_*`` functions need only a seed. The ``load_*`` functions read files that are not part of
the package; ``data_home`` or the environment variable ``CONDRANK_DATA`` says where they are. A generated
data set is a :class:`condrank.RelationGraph`, or a pair of them (train, test); a loaded one is a
:class:`sklearn.utils.Bunch` with the graph, the arrays it was made of, and a paragraph ``DESCR`` about their
source.

=========================  ==========================  =======================================================
function                   graph                       relation
=========================  ==========================  =======================================================
make_rock_paper_scissors   edge list; complete (test)  reciprocal, intransitive: who wins
make_classes               factored                    symmetric: the same class, or 2 class / 1 group / 0
make_digits_task           factored                    symmetric: 2 digit / 1 shape / 0
load_newsgroups            factored                    symmetric: 2 newsgroup / 1 topic / 0
load_bacteria              factored                    symmetric: species, or 2 species / 1 genus / 0
load_enzymes               factored                    symmetric: leading digits of the EC number shared, 0..4
load_usps                  factored                    symmetric: the same digit
load_pokemon               edge list                   reciprocal: who wins
load_davis                 two domains, complete       affinity of a drug to a target (pKd)
load_metz                  two domains, with holes     affinity of a drug to a target (pKi)
load_kiba                  two domains, with holes     affinity of a drug to a target (KIBA score)
load_movielens             two domains, with holes     rating of a film by a user
load_yamanishi             two domains, complete       1 where a drug is known to act on a target
=========================  ==========================  =======================================================
"""

from __future__ import annotations

from condrank.datasets.films import load_movielens
from condrank.datasets.generated import make_classes, make_digits_task, make_rock_paper_scissors
from condrank.datasets.newsgroups import load_newsgroups
from condrank.datasets.real import load_bacteria, load_enzymes, load_pokemon, load_usps
from condrank.datasets.two_domains import load_davis, load_kiba, load_metz, load_yamanishi

__all__ = [
    "load_bacteria",
    "load_davis",
    "load_enzymes",
    "load_kiba",
    "load_metz",
    "load_movielens",
    "load_newsgroups",
    "load_pokemon",
    "load_usps",
    "load_yamanishi",
    "make_classes",
    "make_digits_task",
    "make_rock_paper_scissors",
]
