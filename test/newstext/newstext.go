// Package newstext holds texts for tests: invented articles, and the lines around
// the articles of two invented sites.
package newstext

import _ "embed"

// Two articles and two others, in Chinese and English.
var (
	//go:embed zh.txt
	Zh string
	//go:embed en.txt
	En string
	//go:embed zh_other.txt
	ZhOther string
	//go:embed en_other.txt
	EnOther string
)

// The lines above and below the articles of two sites.
var (
	//go:embed zh_menu.txt
	ZhMenu string
	//go:embed zh_footer.txt
	ZhFooter string
	//go:embed en_menu.txt
	EnMenu string
	//go:embed en_footer.txt
	EnFooter string
)
