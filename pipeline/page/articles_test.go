package page

import (
	"echosieve/pipeline/internal/newstext"
)

const (
	zhArticle, enArticle = newstext.Zh, newstext.En
	zhOther, enOther     = newstext.ZhOther, newstext.EnOther
	zhMenu, zhFooter     = newstext.ZhMenu, newstext.ZhFooter
	enMenu, enFooter     = newstext.EnMenu, newstext.EnFooter
)
