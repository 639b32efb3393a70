package broker

import "strings"

// A label is the text that Echosieve commits beside each offset, as the metadata of Kafka's offset
// commits: words that tell the next process what the offset belongs to.
//
//	index:layout=...&namespace=echosieve&recipe=...&window=168h&... topic-id:AQAAAAAAAAAAAAAAAAAAAA
//
// A word is a name, a colon and a value without spaces. Readers look up the names that they know and ignore
// all others, so a version may add words. The words:
//
//   - index: in which index the records below the offset were decided. The format is that of Label in redisindex/watch.
//   - producer: id/epoch under which the partition's owner publishes; absent with delivery at least once.
//   - outputs: topic/partition/topic-id/offset of each output partition, with commas between them. No output
//     of a record at or after the committed offset stands before that offset of the output partition. So the
//     next owner reads from there what is published.
//   - topic-id: the id of the topic whose offset it is. Brokers drop a group's offsets together with the
//     topic, but an offset of the old topic can come back: the topic is deleted and recreated, a member that
//     has not noticed this commits an offset of the old topic once more, and is killed before it notices. The
//     word tells the next member that the offset belongs to another log. It is the last word, because
//     versions without other words compare a label that begins with it as a whole.
//
// Offsets that others have committed, for example a tool that resets a group, have no label and are used as they are.
const (
	wordIndex    = "index"
	wordProducer = "producer"
	wordOutputs  = "outputs"
	wordTopicID  = "topic-id"
)

// maxLabelBytes bounds a label. Brokers refuse metadata above offset.metadata.max.bytes, 4096 by default, and then
// the commit.
const maxLabelBytes = 4096

// word is one word of a label.
type word struct{ name, value string }

// makeLabel joins the words, in this order. Words without a value are left out, and so are words with a space in
// their value, and words that would make the label longer than a broker takes, the longest first: an offset
// with fewer words is better than no commit.
func makeLabel(words ...word) string {
	var texts []string
	size := 0
	for _, w := range words {
		if w.value != "" && !strings.ContainsAny(w.value, " \t\r\n") {
			texts = append(texts, w.name+":"+w.value)
			size += len(texts[len(texts)-1]) + 1
		}
	}
	for size > maxLabelBytes+1 { // one space less than words
		longest := 0
		for i, text := range texts {
			if len(text) > len(texts[longest]) {
				longest = i
			}
		}
		size -= len(texts[longest]) + 1
		texts = append(texts[:longest], texts[longest+1:]...)
	}
	return strings.Join(texts, " ")
}

// valueOf returns the value of the label's word of that name, or "".
func valueOf(label, name string) string {
	for word := range strings.FieldsSeq(label) {
		if value, ok := strings.CutPrefix(word, name+":"); ok {
			return value
		}
	}
	return ""
}
