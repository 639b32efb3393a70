package recipe

import (
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/text"
)

const (
	zhArticle, enArticle = newstext.Zh, newstext.En
	zhOther, enOther     = newstext.ZhOther, newstext.EnOther
	zhMenu, zhFooter     = newstext.ZhMenu, newstext.ZhFooter
	enMenu, enFooter     = newstext.EnMenu, newstext.EnFooter
)

func normalised(clean string) string { return string(text.AppendNormalised(nil, clean)) }
