"""Hard texts for tokenizers, and ways to make more of them from a seed."""

import unicodedata

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
TEXTS = [
    "", " ", "  ", "\n", "\r\n", "\t", "a", " a", "a ", "  a  ", "\n\n\n", " \n \n ", "\t\t x", "a\tb", "a \n b", "\r\r\n\n\r",
    "Hello, world!", "I'm you're we've he'll she'd it's don't", "I'M YOU'RE WE'VE HE'LL SHE'D IT'S DON'T", "'s 't'ſ 'S 'LL 'lL",
    "1", "12", "123", "1234", "12345", "1 22 333 4444 55555", "3.14159e-10", "٠١٢٣ ४५६ Ⅷ ½ ①②", "0x1F4A9", "1,000,000",
    "naïve café résumé", "e\u0301 n\u0303 a\u030a\u0301 \u0301", "ﬁ ﬂ ß ẞ İ ı ǆ", "안녕하세요 세계", "こんにちは世界、今日は。", "你好，世界！中文测试",
    "مرحبا بالعالم", "שלום עולם", "\u202eabc\u202c", "नमस्ते दुनिया", "สวัสดีชาวโลก", "Привет, мир", "Ωμέγα",
    FAMILY, "\U0001f600\U0001f601 \U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "a\u00a0b\u3000c\u2003d\u2028e\u2029f\u0085g\u180eh\u200bi",
    "\x00", "a\x00b", "\x01\x02\x1f\x7f\x80\x9f", "\ufeff", "\ufffd", "\uffff", "\U0010ffff", "\ue000",
    "{}[]()<>!@#$%^&*-_=+\\|;:'\",./?`~", "!!!???...", "--- === ___", "a_b_c", "snake_case camelCase", "http://a.b/c?d=e&f#g",
    "def f(x):\n    return x + 1\n\n\nprint(f(2))\n", "  \n\t \r\n  x", "x\n ", "▁▁ ▁a", "<0x0A>", "<|im_start|>", "</s>", "ĠĊ", "[PAD]",
]

ALPHABETS = [
    "abcdefghij'  ", "ABC'sStTmMlLdDrReEvV ", "0123456789 .,", " \t\n\r\u00a0\u3000\u2003\u0085\x0b\x0c\u2028", "!?.,;:$+<=>^~|`'\"()[]{}-_",
    "äöüßéèñçåø", "e\u0301\u0308a\u0327\u0323o\u0302", "漢字仮名交じり文、。", "가나다라한국어", "אבגדהו ", "ابتثج ", "नमस्तेक्ष ",
    "\U0001f468\u200d\U0001f469\U0001f3fd\U0001f600\ufe0f", "\x00\x01\x07\x1b\x7f", "٠١٢३४½Ⅷ①", "\u180e\u200b\u200c\u200d\u2060\ufeff", "▁Ġ<0x>s/|im_",
]


def assigned(code_point):
    """Characters of Unicode 14, which Python 3.11 and PCRE2 10.42 both have."""
    return unicodedata.category(chr(code_point)) not in ("Cs", "Cn")


def random_text(random):
    pieces = []
    for _ in range(random.randint(1, 6)):
        kind = random.random()
        if kind < 0.6:
            alphabet = random.choice(ALPHABETS)
            pieces.append("".join(random.choice(alphabet) for _ in range(random.randint(1, 12))))
        elif kind < 0.7:
            pieces.append(random.choice(TEXTS))
        elif kind < 0.8:
            pieces.append(random.choice("a 1\n\t!漢é") * random.randint(1, 60))
        else:
            drawn = (random.choice((0x250, 0x3000, 0x11000, 0x20000, 0x110000)) for _ in range(random.randint(1, 6)))
            pieces.append("".join(chr(c) for c in map(random.randrange, drawn) if assigned(c)))
    return "".join(pieces)


def broken(random, text):
    """Bytes that are hardly UTF-8. Nothing above U+10FFFF: there llama.cpp throws through C."""
    data = bytearray(text.encode())
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(data))
        what = random.choice([b"\xff", b"\xc0\x80", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x9f", b"\xe2\x96", b"\x80", b"\xc3", b"\xf8", b"\xf0\x82\x82\xac"])
        data[at:at] = what
        if random.random() < 0.3:
            del data[random.randint(0, len(data) - 1)]
    return b"" if beyond_unicode(data) else bytes(data)


def beyond_unicode(data):
    return any(0xF5 <= data[i] <= 0xF7 or (data[i] == 0xF4 and i + 1 < len(data) and data[i + 1] >= 0x90) for i in range(len(data)))
