"""First names (some kept for judging), places, plain words and invented words to copy."""

from random import Random

from .split import draw

NAMES = (
    "Anna Tom Maria John Peter Lucy Emma Oliver Sophia Liam Noah Mia Ella Jack Harry Grace Alice Bob Carol David Eva Frank "
    "Helen Ivan Julia Karl Laura Martin Nina Oscar Paula Quinn Rosa Sam Tina Victor Wendy Xavier Yara Zoe Adam Ben Clara "
    "Daniel Erik Fiona George Hugo Iris James Kate Leo Max Nora Omar Pablo Rita Simon Tara Uma Vera Will Amir Bella Cora "
    "Diego Elena Felix Gina Hannah Isaac Jana Kevin Lena Marco Nadia Olga Paul Rachel Sara Theo Ursula Vincent Aisha Boris "
    "Chen Dina Emil Fatima Greta Hassan Ines Jonas Kira Luca Mona Nils Otto Priya Ravi Sven Tanja Yusuf Akira Bruno Carmen "
    "Dora Elias Freya Gustav Hilda Igor Joana Klaus Linda Miguel Nora Pierre Ramon Sofia Tobias Valerie Walter Mary Susan "
    "Robert Linus Ada Grace Alan Ken Dennis Brian Barbara Steve Jane Mark Nancy Betty Edward Ruth Arthur Rose Charles Amy"
).split()
SURNAMES = ("Smith Jones Brown Miller Wilson Taylor Clark Lewis Young King Baker Hill Green Adams Nelson Carter Cook "
            "Schmidt Rossi Novak Garcia Silva Kim Tanaka Patel Kumar Larsen Berg Weber Fischer").split()
CITIES = ("Paris Berlin Rome Madrid London Oslo Vienna Tokyo Lisbon Dublin Prague Athens Cairo Lima Boston Chicago Sydney "
          "Toronto Munich Milan Seattle Denver Hamburg Geneva Zurich Austin Dallas Osaka Delhi Seoul Porto Lyon Bergen").split()
WORDS = (
    "the a my your red blue green yellow purple orange silver golden small big quiet loud happy sunny rainy cold warm old new "
    "fox dog cat bird fish horse cow duck rabbit tiger lion bear monkey frog turtle whale boat train car bike road river "
    "mountain forest garden house window door table chair lamp book pen letter paper music song dance light shadow moon sun "
    "star sky cloud rain snow wind fire water stone sand apple banana cherry lemon bread cheese soup cake tea coffee milk "
    "runs jumps sleeps sings swims flies walks reads writes opens closes likes sees finds takes gives makes tells asks knows "
    "over under near behind above with without and or but because today tomorrow yesterday always never slowly quickly "
    "hello world good morning server model token cache batch memory kernel thread pocket ladder winter summer autumn spring"
).split()
_ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fr gr pr tr st pl cl bl sh ch th".split()
_VOWELS = "a e i o u a e i o ai ea ou".split()
_CODAS = ["", "", "", "n", "r", "l", "s", "t", "m", "k", "x", "nd", "rt"]


def invented(rng: Random) -> str:
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(rng.choice([1, 2, 2, 3])))


def first_name(rng: Random, split: str) -> str:
    """A listed name, or an invented one, on this split's side."""
    def one(r: Random) -> str:
        return r.choice(NAMES) if r.random() < 0.85 else invented(r).capitalize()
    return draw(rng, split, one, lambda name: ("name", name))
