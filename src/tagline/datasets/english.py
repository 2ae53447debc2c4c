"""English sentences by word: our own lists of names, and patterns.

Names are put together from parts. The lists of stems are halved between training and test, so that no name of the test
sentences occurs in training; the endings (``-ton``, ``-berg``, ``University``) are common to both, so that there is
something to learn. Many names are common words (Will, Rose, Mark), many towns could be surnames, and ``{ANY}`` stands
where a person, a place or an organisation could: there only the name itself tells.
"""

from __future__ import annotations

from tagline.datasets.drawing import Draw, Language, Names, Slot, number_between, one_of


def _halves(training: str, test: str) -> Names:
    return tuple(training.split()), tuple(test.split())


GIVEN = _halves(
    "Alice Anton Carla Cedric Elena Edgar Gloria Gustav Irene Igor Karin Kofi Maria Milo Olga Omar Rosa Rafael Tanya "
    "Tariq Vera Viktor Yara Yusuf Amara Adrian Clara Carlos Emma Emilio Ines Ivan Lucia Lars Nora Niko Sara Samir "
    "Will Rose Hope Frank Faith Chase Penny Art Rusty Summer Rich Miles",
    "Bella Boris Diana Dmitri Fiona Felix Hanna Hugo Julia Jonas Laura Leon Nadia Nils Paula Pedro Sofia Stefan Ursula "
    "Umberto Wanda Walter Zelda Zoran Bianca Bruno Dora Dario Greta Georg Judith Jamal Mina Marek Petra Pavel Tessa "
    "Tomas Mark Grace Bill Jack Joy Dean Pat Drew Sandy Autumn Guy Chance",
)
SURNAME_STEMS = _halves(
    "Hart Mar Wil Thor Ber Ed Gar Ing Kel Mor Os Quin Sal Ul Wes Blom Dol Fin Hal Jan Lav Nem Pol Sim Und Zim",
    "Lind Ros Ald Dan Fal Hol Jor Lan Nor Par Rad Tal Van Yar Crom Eck Grim Ivar Kor Mol Orl Rut Tor Vik Walt Bax",
)
SURNAME_ENDINGS = ("son", "man", "ley", "ton", "er", "ford", "wood", "berg", "well", "ski", "ova", "ini", "ez", "sen")
PLACE_STEMS = _halves(
    "Ash Clif East Glen King Mel Oak Red Star Whit Black Dar Elm Green Kirk Mid Old Rock Thorn Wex Bol Der Ger",
    "Brad Dun Fair Hamp Long Nether Pres Shel Water Win Cran Elder Lang New Pen Sand Under Wood Carl Ever Haz Lin Yel",
)
PLACE_ENDINGS = (
    "ton",
    "ford",
    "ville",
    "burg",
    "field",
    "port",
    "bridge",
    "mouth",
    "ham",
    "land",
    "ia",
    "stan",
    "berg",
)
PLACE_WORDS = ("New {}", "Port {}", "San {}", "Lake {}", "Mount {}", "North {}", "{} Bay", "{} River", "{} Island")
BRAND_STEMS = _halves(
    "Zen Tek Lum Cor Ast Bit Flu Kin Opt Ram Tri Vol", "Nov Vex Ori Syn Qua Dex Hel Met Pri Sol Uni Xan"
)
BRAND_ENDINGS = ("trix", "ora", "ium", "tek", "co", "sys", "net", "lux", "ware", "plex", "ton", "ia")
CHINESE_SURNAMES = _halves("Wang Zhang Chen Zhao Zhou Xu Hu Gao He Ma", "Li Liu Yang Huang Wu Sun Zhu Lin Guo Luo")
SYLLABLES = _halves("wen ming xiao jian li fang jun hai mei qiang", "jie hua yu guo na lei bo yan ling tao")
LETTERS = _halves("B F K M P S", "C D G L N R T")
MONTHS, WEEKDAYS = _halves(
    "January February March April May June July August September October November December",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
)


# Names.


def surname(draw: Draw) -> str:
    """A surname; now and then one that could be a town."""
    kind = draw.weighted({"plain": 80, "town": 8, "irish": 4, "double": 4})
    if kind == "town":
        return town(draw)
    plain = draw.name(SURNAME_STEMS) + draw.pick(SURNAME_ENDINGS)
    if kind == "double":
        return f"{plain}-{draw.name(SURNAME_STEMS)}{draw.pick(SURNAME_ENDINGS)}"
    return f"O'{plain}" if kind == "irish" else plain


def chinese_name(draw: Draw) -> str:
    """A Chinese name in Latin letters, surname first."""
    given = "".join(draw.name(SYLLABLES) for _ in range(draw.number(1, 2)))
    return f"{draw.name(CHINESE_SURNAMES)} {given.capitalize()}"


def person(draw: Draw) -> str:
    """A person in one of the ways in which people are named."""
    kind = draw.weighted({"full": 50, "surname": 18, "given": 12, "initial": 6, "particle": 4, "chinese": 10})
    if kind == "chinese":
        return chinese_name(draw)
    if kind in ("surname", "given"):
        return surname(draw) if kind == "surname" else draw.name(GIVEN)
    middle = {
        "full": "",
        "initial": f" {draw.pick('ABCDEFGHJKLMPRST')}",
        "particle": draw.pick((" van", " de", " von")),
    }
    return f"{draw.name(GIVEN)}{middle[kind]} {surname(draw)}"


def town(draw: Draw) -> str:
    """A place of one word."""
    return draw.name(PLACE_STEMS) + draw.pick(PLACE_ENDINGS)


def place(draw: Draw) -> str:
    """A town, a region, a river…"""
    return town(draw) if draw.number(1, 10) <= 7 else draw.pick(PLACE_WORDS).format(town(draw))


def acronym(draw: Draw) -> str:
    """Three letters; the last one keeps training and test apart."""
    return draw.part(LETTERS) + draw.part(LETTERS) + draw.name(LETTERS)


def brand(draw: Draw) -> str:
    """An invented word."""
    return draw.name(BRAND_STEMS) + draw.pick(BRAND_ENDINGS)


ORGANISATIONS: tuple[tuple[str, Slot], ...] = (
    *((form, place) for form in ("University of {}", "Bank of {}", "{} University", "{} City Council", "{} Times")),
    *((form, place) for form in ("{} United", "{} Institute of Technology", "Port of {}", "{} General Hospital")),
    *((form, surname) for form in ("{} & Sons", "{} Brothers", "{} Foundation", "{} Holdings", "{} and Partners")),
    *((form, brand) for form in ("{}", "{}", "{}", "{} Group", "{} Ltd", "{} Airlines", "{} Software", "{} Energy")),
    *((form, acronym) for form in ("{}", "{}")),
    ("{} Workers Union", town),
)


def organisation(draw: Draw) -> str:
    """A company, a school, a club, an office…"""
    form, part = draw.pick(ORGANISATIONS)
    return form.format(part(draw))


# Dates and numbers.


def year(draw: Draw) -> str:
    """A year."""
    return str(draw.number(1900, 2025))


def month(draw: Draw) -> str:
    """What follows "in"."""
    named = draw.pick(MONTHS)
    return draw.pick((named, f"{named} {year(draw)}", f"the summer of {year(draw)}", f"the {draw.number(2, 9) * 10}s"))


def date(draw: Draw) -> str:
    """What follows "on"."""
    day, named, weekday, in_year = draw.number(1, 28), draw.pick(MONTHS), draw.pick(WEEKDAYS), year(draw)
    return draw.weighted(
        {
            f"{day} {named} {in_year}": 3,
            f"{named} {day} , {in_year}": 2,
            f"{named} {day}": 3,
            f"{day} {named}": 2,
            f"{in_year}-{MONTHS.index(named) + 1:02}-{day:02}": 2,
            weekday: 3,
            f"{weekday} , {day} {named}": 2,
            f"the {day}th of {named}": 1,
        }
    )


def when(draw: Draw) -> str:
    """A time that is past and stands by itself."""
    weekday = draw.pick(WEEKDAYS)
    return draw.pick((f"last {weekday}", f"this {weekday}", "yesterday", "last week", "last year", "this morning"))


def number(draw: Draw) -> str:
    """A number that is no date, even where it looks like one."""
    return draw.pick((str(draw.number(2, 31)), str(draw.number(32, 999)), year(draw), str(draw.number(2026, 9999))))


SLOTS: dict[str, Slot] = {
    **{"PER": person, "SURNAME": surname, "GIVEN": lambda draw: draw.name(GIVEN), "LOC": place, "ORG": organisation},
    **{"TEAM": town, "DATE": date, "YEAR": year, "MONTH": month, "WHEN": when, "DAY": lambda draw: draw.pick(WEEKDAYS)},
    **{"EARLY": number_between(1900, 1960), "LATE": number_between(1961, 2025)},
    "number": number,
    "age": number_between(18, 90),
    "score": number_between(0, 6),
    "title": one_of("Mr, Mrs, Ms, Dr, Professor, President, Judge, Captain, Sister, Minister"),
    "role": one_of(
        "chairman, director, founder, president, mayor, editor, head coach, treasurer, chief engineer, singer"
    ),
    "job": one_of("nurse, painter, pilot, lawyer, farmer, teacher, driver, poet, goalkeeper, chemist"),
    "people": one_of("workers, students, visitors, voters, refugees, children, tourists, engineers, doctors, players"),
    "thing": one_of(
        "the strike, the harvest, trade, the new law, the drought, research, the dispute, the concert, peace"
    ),
    "things": one_of("bicycles, books, machines, tickets, chairs, phones, apples, letters, paintings, batteries"),
    "building": one_of("bridge, library, museum, stadium, factory, school, hospital, station, theatre, airport"),
    "quality": one_of(
        "patience, good wine, hard work, cheap bread, honesty, long speeches, silence, bad luck, late nights"
    ),
    "money": one_of("euros, dollars, crowns, francs, pounds"),
    "remark": one_of(
        "We will see, It was a mistake, Spring has come, Nobody told us, The door was open, Time will tell"
    ),
    "product": one_of("Sonata, Model T, Windows, Thunderbird, Galaxy, Java, Pluto, Falcon, Monopoly, Bluetooth"),
    "nationality": one_of("French, Brazilian, Chinese, Danish, Kenyan, Turkish, Canadian, Polish, Korean, Mexican"),
    "capital": one_of("Parliament, Congress, Christmas, Easter, Internet, Olympics, God, Latin, Renaissance, Earth"),
    "letters": one_of("GDP, DNA, CEO, VAT, TV, USB, PDF, AIDS, NGO, WC"),
}

TYPES = {
    **{"PER": "PER", "SURNAME": "PER", "GIVEN": "PER", "LOC": "LOC", "ORG": "ORG", "TEAM": "ORG"},
    **{"DATE": "DATE", "YEAR": "DATE", "MONTH": "DATE", "WHEN": "DATE", "DAY": "DATE", "EARLY": "DATE", "LATE": "DATE"},
}

PATTERNS = (
    "{PER} , the {role} of {ORG} , said on {DATE} that {thing} would continue .",
    "{PER} was born in {LOC} in {YEAR} and moved to {LOC} as a child .",
    "{title} {SURNAME} declined to comment .",
    "On {DATE} , {ORG} opened its first {building} in {LOC} .",
    "The {building} in {LOC} was closed until {DATE} .",
    "{TEAM} beat {TEAM} {score} to {score} on {DAY} .",
    "{ORG} will hire {number} {people} before {DATE} .",
    "{ANY} has had a difficult year .",
    "Everyone is talking about {ANY} .",
    "{ANY} is known for {quality} .",
    "What do you think of {ANY} ?",
    "We wrote to {ANY} {WHEN} but received no answer .",
    "Will {PER} play for {TEAM} on {DAY} ?",
    "May we remind you that {ORG} is closed on {DATE} ?",
    "Mark my words : {thing} will cost {number} {money} .",
    "The march from {LOC} to {LOC} took {number} days .",
    "She may visit {LOC} in {MONTH} .",
    "Rose bushes grow well near {LOC} , says {PER} .",
    "{PER} and {PER} met at {ORG} in {MONTH} .",
    "Students at {ORG} read {number} pages in one week .",
    "Flight {number} from {LOC} to {LOC} was cancelled {WHEN} .",
    "Room {number} of the {building} is reserved for {PER} .",
    "Chapter {number} of the {nationality} edition describes {ANY} .",
    "A {nationality} {job} named {PER} joined {ORG} {WHEN} .",
    "{nationality} {people} arrived in {LOC} on {DATE} .",
    "“ {remark} , ” said {PER} .",
    "“ {remark} , ” {title} {SURNAME} told {ORG} .",
    "{ORG} , based in {LOC} , sells {things} .",
    "Shares of {ORG} fell by {number} percent on {DAY} .",
    "{ORG} and {ORG} signed an agreement in {LOC} .",
    "Born on {DATE} , {PER} studied at {ORG} .",
    "The river floods {LOC} every spring .",
    "In {LOC} , {number} people voted for {PER} .",
    "{PER} ( {ORG} ) finished third in {LOC} .",
    "Dear {title} {SURNAME} , thank you for your letter of {DATE} .",
    "Dear {GIVEN} , see you in {LOC} on {DAY} !",
    "Please call {PER} at {number} before {DAY} .",
    "The new {product} from {ORG} costs {number} {money} .",
    "{product} users in {LOC} complained to {ORG} .",
    "According to {ANY} , {thing} began in {YEAR} .",
    "{LOC} , {LOC} and {LOC} lie on the same road .",
    "{PER} , {PER} and {PER} were absent .",
    "Nobody expected {ANY} to win .",
    "Between {EARLY} and {LATE} , {PER} lived near {LOC} .",
    "{ORG} was founded by {PER} and {PER} in {YEAR} .",
    "Hope is what keeps {TEAM} going , {GIVEN} said .",
    "Bill after bill was rejected by {ORG} .",
    "The {role} thanked {ANY} for {quality} .",
    "Police in {LOC} are looking for {PER} , {age} .",
    "{PER} succeeds {PER} as {role} of {ORG} .",
    "No one from {ANY} attended the meeting on {DATE} .",
    "{capital} was the subject when {PER} spoke in {LOC} .",
    "The {letters} report was sent to {ORG} in {MONTH} .",
    "Trains between {LOC} and {LOC} run every {number} minutes .",
    "Frank talk about {thing} is rare , but {PER} tried .",
    "Grace and patience are what {PER} teaches the {people} .",
    "All {number} seats were sold by {DATE} .",
    "There were {number} {things} in the {building} .",
    "Summer Sale : {number} {things} for {number} {money} !",
    "More than {number} {people} came from {LOC} to hear {PER} .",
    "{PER} left {ORG} for {ORG} {WHEN} .",
    "{TEAM} {score} , {TEAM} {score} .",
    "In {number} of the cases , {letters} tests were wrong .",
    "He and the {job} from {ANY} won by {number} votes .",
    "{WHEN} {ANY} was in the news again .",
    "{ORG} : {number} {things} recalled in {LOC}",
    "{ANY} , {ANY} and {ANY} were mentioned on {DATE} .",
    "Mount a camera on the roof and {LOC} looks small .",
    "Dr and nurse alike praised {ORG} {WHEN} .",
    "{PER} : “ {remark} . ”",
    "The {job} , who grew up in {LOC} , writes for {ORG} .",
    "{people} at {ORG} want {number} {money} more .",
)

ENGLISH = Language(PATTERNS, SLOTS, TYPES, " ")
