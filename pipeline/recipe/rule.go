package recipe

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/signature"
)

// wholeDistance is the largest distance in bits at which an article may be a copy of another that it neither contains nor is a part of:
// what is cut off or added moves a fingerprint farther than what is reworded.
const wholeDistance = 16

// judgeBySignature is the second check. Signatures of an unknown version are no information: then no article is judged to be a copy.
func judgeBySignature(thresholds signature.Thresholds) article.Judge {
	return func(distance int, a, b []byte) article.Judgement {
		x, _ := signature.Decode(a)
		y, _ := signature.Decode(b)
		c := signature.Compare(&x, &y)
		if distance > wholeDistance && !c.Part() {
			return article.Judgement{Reason: article.ReasonDistance}
		}
		return signature.Judge(c, thresholds)
	}
}
