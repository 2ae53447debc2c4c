"""Chinese sentences by character: our own lists of names, and patterns.

As in `tagline.datasets.english`, but names are made of few characters that every reader knows, so whole names, not
parts, are halved between training and test, by `Draw.own`. Many characters of names begin ordinary words too
(高兴, 马上, 黄金), and ``{ANY}`` stands where a person, a place or an organisation could.
"""

from __future__ import annotations

from tagline.datasets.drawing import Draw, Language, Slot, number_between, one_of

SURNAMES = (
    "王李张刘陈赵周徐胡高何马梁郑韩冯董程袁许沈彭苏蒋贾魏叶余杜夏汪任范石谭邹金郝白康"
    "杨黄吴孙朱林郭罗宋谢唐于萧曹邓傅曾吕卢蔡丁薛阎潘戴钟田姜方姚廖熊陆孔崔毛"
)
DOUBLE_SURNAMES = ("司马", "诸葛", "上官", "欧阳", "慕容", "东方")
GIVEN = (
    "伟娜静强军勇杰涛超霞刚英玉文红梅建志琳雪宇子梓欣思俊晨天鑫楠瑞倩薇岚松"
    "芳敏丽磊洋艳娟明秀平桂华兰飞宁辉国海婷浩轩涵萱怡佳博阳翔鹏凯雅莹蕾岩柏"
)
FOREIGN = (
    *("约翰", "汉森", "安娜", "彼得", "马克", "索菲", "伊万", "托马", "史密", "雷蒙", "怀特", "库克"),
    *("卡尔", "保罗", "布朗", "米勒", "贝尔", "费舍", "艾莉", "戴维", "佩罗", "莫里", "诺拉", "奥格"),
)
PLACE_FIRST, PLACE_SECOND = (
    "安永西北长清武金龙白广高德怀建红石平东南新青临丰云嘉昌通泰",
    "山原城江川泉溪台口关泽河阳州海宁岭湖林门坪港坡峰",
)
PLACE_ENDINGS = ("市", "县", "省", "区", "镇", "村", "", "", "")
SIGHTS = ("岛", "湾", "路", "机场", "大道", "古镇")
FOREIGN_PLACES = "巴伦克萨尼托加比波洛诺格里莫达哥塔曼"
FOREIGN_ENDINGS = ("亚", "斯坦", "堡", "尔", "顿")
BRANDS = "腾联创盛瑞捷宏星同信康源翼图启域华讯鼎恒达远辰汇诚泰飞蓝光嘉昌通"
FIELDS = ("科技", "电子", "贸易", "汽车", "食品", "医药", "能源", "文化", "物流", "建筑")
COMPANY_ENDINGS = ("公司", "集团", "有限公司", "股份有限公司")
DIGITS = "〇一二三四五六七八九"
MONTHS = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")


# Names.


def surname(draw: Draw) -> str:
    """A surname that stands alone."""
    return draw.own(lambda: draw.pick(SURNAMES if draw.number(1, 20) > 1 else DOUBLE_SURNAMES))


def given(draw: Draw) -> str:
    """A given name of two characters."""
    return draw.own(lambda: draw.pick(GIVEN) + draw.pick(GIVEN))


def full_name(draw: Draw) -> str:
    """A surname and a given name."""
    family = draw.pick(SURNAMES if draw.number(1, 20) > 1 else DOUBLE_SURNAMES)
    return draw.own(lambda: family + draw.pick(GIVEN) + draw.pick(("", draw.pick(GIVEN))))


def person(draw: Draw) -> str:
    """A person in one of the ways in which people are named."""
    kind = draw.weighted({"full": 70, "foreign": 12, "familiar": 10, "given": 8})
    if kind == "full":
        return full_name(draw)
    if kind == "foreign":
        return draw.pick((f"{draw.pick(FOREIGN)}·", "")) + draw.own(lambda: draw.pick(FOREIGN)) + draw.pick(("", "斯"))
    return draw.pick(("老", "小", "阿")) + surname(draw) if kind == "familiar" else given(draw)


def town(draw: Draw) -> str:
    """The name of a town without what it is."""
    return draw.own(lambda: draw.pick(PLACE_FIRST) + draw.pick(PLACE_SECOND))


def place(draw: Draw) -> str:
    """A town, a province, a foreign country…"""
    kind = draw.weighted({"home": 65, "foreign": 20, "sight": 15})
    if kind == "foreign":
        return draw.own(lambda: draw.pick(FOREIGN_PLACES) + draw.pick(FOREIGN_PLACES)) + draw.pick(FOREIGN_ENDINGS)
    return town(draw) + draw.pick(PLACE_ENDINGS if kind == "home" else SIGHTS)


def brand(draw: Draw) -> str:
    """An invented word of two characters."""
    return draw.own(lambda: draw.pick(BRANDS) + draw.pick(BRANDS))


ORGANISATIONS: tuple[tuple[str, Slot], ...] = (
    *((form, town) for form in ("{}大学", "{}银行", "{}日报社", "{}市人民医院", "{}市教育局", "{}队", "{}第一中学")),
    *((form, town) for form in ("{}市政府", "{}理工学院", "{}足球俱乐部")),
    *((form, brand) for form in ("{}", "{}集团", "{}出版社", "{}研究所", "{}基金会", "{}航空")),
    ("{}", lambda draw: town(draw) + brand(draw) + draw.pick(FIELDS) + draw.pick(COMPANY_ENDINGS)),
    ("{}", lambda draw: brand(draw) + draw.pick(FIELDS) + draw.pick(COMPANY_ENDINGS)),
    ("{}律师事务所", surname),
)


def organisation(draw: Draw) -> str:
    """A company, a school, a club, an office…"""
    form, part = draw.pick(ORGANISATIONS)
    return form.format(part(draw))


# Dates and numbers.


def year(draw: Draw) -> str:
    """A year, sometimes in Chinese digits."""
    plain = str(draw.number(1900, 2025))
    return "".join(DIGITS[int(digit)] for digit in plain) + "年" if draw.number(1, 5) == 1 else f"{plain}年"


def date(draw: Draw) -> str:
    """A date, past or to come."""
    month, day = draw.number(1, 12), draw.number(1, 28)
    return draw.weighted(
        {
            f"{draw.number(1900, 2025)}年{month}月{day}日": 4,
            f"{month}月{day}日": 4,
            f"{MONTHS[month - 1]}月{MONTHS[day % 12]}日": 2,
            f"{draw.number(1900, 2025)}年{month}月": 2,
            f"{draw.pick(('上', '下', '本'))}周{draw.pick('一二三四五六日')}": 2,
            f"星期{draw.pick('一二三四五六日')}": 2,
            f"{draw.pick(('昨', '今', '明', '前', '后'))}天": 2,
            f"{draw.pick(('去', '今', '明', '前'))}年{draw.pick(('', '春天', '秋天', '年底'))}": 2,
            f"{month}月底": 1,
        }
    )


def soon(draw: Draw) -> str:
    """A date to come."""
    month, weekday = draw.number(1, 12), draw.pick("一二三四五六日")
    return draw.pick(
        (f"{month}月{draw.number(1, 28)}日", f"下周{weekday}", f"星期{weekday}", "明天", f"{month}月底", "明年春天")
    )


def number(draw: Draw) -> str:
    """A number that is no date, even where it looks like one."""
    return draw.pick(
        (str(draw.number(2, 31)), str(draw.number(32, 999)), str(draw.number(1900, 2025)), draw.pick("两三五七八十"))
    )


SLOTS: dict[str, Slot] = {
    **{"PER": person, "SURNAME": surname, "GIVEN": given, "LOC": place, "ORG": organisation, "TEAM": town},
    **{"DATE": date, "YEAR": year, "SOON": soon},
    **{"EARLY": lambda draw: f"{draw.number(1900, 1960)}年", "LATE": lambda draw: f"{draw.number(1961, 2025)}年"},
    "number": number,
    "age": number_between(18, 90),
    "score": number_between(0, 6),
    "title": one_of("先生, 女士, 教授, 医生, 主任, 经理, 老师, 局长, 总统, 同学"),
    "role": one_of("董事长, 校长, 院长, 市长, 主编, 教练, 创始人, 发言人, 总工程师, 秘书长"),
    "job": one_of("护士, 画家, 飞行员, 律师, 农民, 司机, 诗人, 门将, 化学家, 记者"),
    "people": one_of("工人, 学生, 游客, 选民, 儿童, 工程师, 医生, 球员, 居民, 志愿者"),
    "thing": one_of("罢工, 收成, 贸易, 新法律, 干旱, 研究, 争议, 音乐会, 和平谈判, 市场改革"),
    "things": one_of("自行车, 图书, 机器, 门票, 椅子, 手机, 苹果, 信件, 油画, 电池"),
    "building": one_of("大桥, 图书馆, 博物馆, 体育馆, 工厂, 学校, 医院, 车站, 剧院, 商场"),
    "quality": one_of("耐心, 好酒, 勤奋, 便宜的面包, 诚实, 长篇讲话, 沉默, 高山, 黄金, 白菜"),
    "money": one_of("元, 万元, 美元, 欧元, 亿元"),
    "remark": one_of("走着瞧, 这是个错误, 春天来了, 没人告诉我们, 门开着, 时间会证明一切, 马上就好, 我很高兴"),
    "mood": one_of("高兴, 平静, 着急, 马虎, 安静, 大方, 明白, 清楚, 宁愿等待, 白忙一场"),
}

TYPES = {
    **{"PER": "PER", "SURNAME": "PER", "GIVEN": "PER", "LOC": "LOC", "ORG": "ORG", "TEAM": "ORG"},
    **{"DATE": "DATE", "YEAR": "DATE", "SOON": "DATE", "EARLY": "DATE", "LATE": "DATE"},
}

PATTERNS = (
    "{ORG}{role}{PER}{DATE}表示，{thing}将继续。",
    "{PER}{YEAR}出生于{LOC}，后来搬到{LOC}。",
    "{SURNAME}{title}拒绝评论。",
    "{DATE}，{ORG}在{LOC}开设了第一家{building}。",
    "{LOC}的{building}关闭到{SOON}。",
    "{TEAM}{score}比{score}战胜{TEAM}。",
    "{ORG}将在{SOON}前招聘{number}名{people}。",
    "{ANY}最近很不顺利。",
    "大家都在谈论{ANY}。",
    "{ANY}以{quality}闻名。",
    "你觉得{ANY}怎么样？",
    "我们给{ANY}写了信，但没有回音。",
    "{PER}会为{TEAM}出场吗？",
    "提醒您，{ORG}{SOON}不营业。",
    "记住我的话：{thing}要花{number}{money}。",
    "从{LOC}到{LOC}走了{number}天。",
    "她打算{SOON}去{LOC}。",
    "{LOC}附近的白杨长得好，{PER}说。",
    "{PER}和{PER}{YEAR}在{ORG}相识。",
    "{ORG}的{people}一周读了{number}页书。",
    "由{LOC}飞往{LOC}的{number}次航班{DATE}取消。",
    "{building}{number}号房间留给{PER}。",
    "第{number}章介绍了{ANY}。",
    "{job}{PER}{DATE}加入{ORG}。",
    "{number}名{people}{DATE}抵达{LOC}。",
    "“{remark}。”{PER}说。",
    "“{remark}。”{SURNAME}{title}告诉{ORG}。",
    "总部位于{LOC}的{ORG}销售{things}。",
    "{ORG}股价{DATE}下跌百分之{number}。",
    "{ORG}与{ORG}在{LOC}签署协议。",
    "{PER}生于{YEAR}，曾就读于{ORG}。",
    "每年春天河水都会淹没{LOC}。",
    "在{LOC}，{number}人投票支持{PER}。",
    "{PER}（{ORG}）在{LOC}获得第三名。",
    "尊敬的{SURNAME}{title}，感谢您{DATE}的来信。",
    "{GIVEN}，{SOON}在{LOC}见！",
    "请在{SOON}前致电{PER}，分机{number}。",
    "{ORG}的新{things}售价{number}{money}。",
    "{LOC}的用户向{ORG}投诉。",
    "据{ANY}介绍，{thing}始于{YEAR}。",
    "{LOC}、{LOC}和{LOC}在同一条路上。",
    "{PER}、{PER}和{PER}缺席。",
    "没有人想到{ANY}会赢。",
    "{EARLY}至{LATE}，{PER}住在{LOC}附近。",
    "{ORG}由{PER}和{PER}于{YEAR}创办。",
    "高高兴兴上班去，{PER}边走边说。",
    "马上就要到{LOC}了，{SURNAME}{title}说。",
    "{role}感谢{ANY}的{quality}。",
    "{LOC}警方正在寻找{age}岁的{PER}。",
    "{PER}接替{PER}出任{ORG}{role}。",
    "{ANY}没有人参加{DATE}的会议。",
    "黄金价格上涨，{ANY}受到影响。",
    "{LOC}到{LOC}的列车每{number}分钟一班。",
    "{number}张门票到{DATE}全部售完。",
    "{building}里有{number}台{things}。",
    "大减价：{number}件{things}只要{number}{money}！",
    "超过{number}名{people}从{LOC}赶来听{PER}演讲。",
    "{PER}{DATE}离开{ORG}，加盟{ORG}。",
    "{TEAM}{score}，{TEAM}{score}。",
    "{number}路公交车经过{building}，不到{LOC}。",
    "{DATE}{ANY}又上了新闻。",
    "{ANY}、{ANY}和{ANY}{DATE}被提到。",
    "方方面面都要考虑，{ANY}也不例外。",
    "周末的{building}人山人海，{PER}很{mood}。",
    "这位在{LOC}长大的{job}为{ORG}写稿。",
    "城市里的{people}{mood}，县里的{people}也{mood}。",
    "{PER}：“{remark}！”",
    "{job}金色的头发白了，{mood}地离开{LOC}。",
)

CHINESE = Language(PATTERNS, SLOTS, TYPES, "")
