"""Writes python_vectors.json: fingerprints that the Python packages make of texts written for this purpose.

python -m venv v && v/bin/pip install jieba==0.42.1 simhash==2.1.2 && v/bin/python python_reference.py
"""
import json
import math
import os

import jieba
import jieba.analyse
from simhash import Simhash

TEXTS = {
    "article": "本报讯（记者 王小川）市气象台昨日发布暴雨橙色预警，预计未来两天全市大部分地区将出现强降雨，最大小时雨强可达80毫米。"
               "防汛办要求各区县加强山洪和地质灾害监测，及时转移危险区域群众。地铁集团表示，将视雨情调整运营时间，3条线路可能停运。"
               "教育部门宣布，全市中小学校、幼儿园明天停课一天，后天是否复课另行通知。市民如需帮助，可拨打热线电话12345。",
    "english": "RIVERTON - The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which has been "
               "closed since a barge struck one of its piers in March. Engineers said that it isn't safe; THE bridge is 3.5% lower.",
    "words that only Python knows": "A股和H股双双上涨，吉林的4S店推出优惠，张华说张力不够，T恤衫和X光机卖得好，IP地址与QQ号被盗，江南style很流行。",
    "numbers": "GDP增长3.5%，CPI上涨1.25%.较2019年的-0.3%高；5G用户达2.5亿，占比17%%，版本v1.2.3-rc_1，C++和C#，AT&T。1.x 9. .5",
    "punctuation": "“好”，他说——“真的吗？”《红楼梦》（第2版）……售价￥59.90元！！！",
    "unknown names": "斯塔夫里阿诺斯与欧阳锋锋在喀拉喀托会面，魑魅魍魉、龘靐齉齾，蓝翔技校的孟凡森和乌尔善布和勒参加。",
    "less probable than its characters": "这是一个的话题，人说话的时候要看人家，了无生趣地走了，就是说的和做的都不一样，上上下下来来去去。",
    "traditional": "國家統計局昨日公布，今年前三季度國內生產總值同比增長，消費對經濟增長的貢獻率為六成。",
    "white space": "第一段\r\n\r\n第二段\t内容\u3000全角空格\u00a0不换行\n末段 内容 内容 段落",
    "emoji and other scripts": "今天心情😀很好👍🏽，café naïve résumé，カタカナ 한국어 русский текст，ＡＢＣ１２３",
    "NUL": "前半句话\x00后半句话",
    "ties at the limit": " ".join("w%dx" % i for i in range(300)) + " w299x w299x",
    "more than 200 words": "".join(
        "%s%s的%s%s。" % (a, b, c, d) for a in "北京 上海 广州 深圳 成都".split() for b in "学校 医院 工厂 银行".split()
        for c in "经济 文化 教育 科技".split() for d in "发展 改革 研究 投资".split())
        + " ".join("k%d" % (i * i) for i in range(260)),
    "one word": "经济" * 500,
    "a stop word": "the of is",
    "nothing": "",
}


def value(tags, total):
    features = [(word, math.floor(weight * total)) for word, weight in tags]
    if not features:
        return 0
    if max(weight for _, weight in features) > 255:  # more than NumPy 2 multiplies bytes with
        features = [(word, float(weight)) for word, weight in features]
    return Simhash(features).value


vectors = []
extract = jieba.analyse.default_tfidf
for name, text in TEXTS.items():
    words = [w for w in jieba.cut(text) if len(w.strip()) > 1]
    total = sum(1 for w in words if w.lower() not in extract.stop_words)
    tags = jieba.analyse.extract_tags(text, topK=200, withWeight=True)
    vectors.append({
        "name": name, "text": text, "words": "/".join(words), "features": len(tags),
        "top200": "%016x" % value(tags, total), "top30": "%016x" % value(tags[:30], total),
    })
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_vectors.json"), "w", encoding="utf-8") as f:
    json.dump(vectors, f, ensure_ascii=False, indent=1)
    f.write("\n")
