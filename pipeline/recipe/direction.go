package recipe

import (
	"strings"

	"echosieve/simhash"
)

// directions are words, by their hash, that say that something rises (true) or falls. Reports of the same form that differ in nothing
// but such a word tell opposite news. Nouns and verbs of other meanings are left out, as far as they are frequent.
var directions = func() map[uint64]bool {
	table := map[uint64]bool{}
	for up, list := range map[bool]string{
		true: "raise raises raised raising rise rises rose risen rising increase increases increased gain gains gained higher climb climbs climbed " +
			"jump jumps jumped surge surges surged grew hike hikes hiked upgrade upgrades upgraded " +
			"上涨 上调 上升 上扬 增长 增加 提高 攀升 走高 收涨 大涨 上行 加息 涨停 调升 回升 反弹 扩大",
		false: "cut cuts lower lowers lowered lowering fall falls fell fallen falling decrease decreases decreased decline declines declined drop drops " +
			"dropped plunge plunges plunged slump slumps slumped slip slips slipped shrank reduce reduces reduced downgrade downgrades downgraded " +
			"下跌 下调 下降 下挫 减少 降低 下滑 走低 收跌 大跌 下行 降息 跌停 调降 回落 萎缩 缩小",
	} {
		for word := range strings.FieldsSeq(list) {
			table[simhash.Hash(word)] = up
		}
	}
	return table
}()

// directionBits tells of the lowest bits of a hash whether a word with them may be in directions, which saves most look-ups.
var directionBits = func() (table [1 << 12]bool) {
	for hash := range directions {
		table[hash%(1<<12)] = true
	}
	return table
}()
