package redis

// texts are the values of a batch. They are written one behind the other, so that a batch is a few objects for the garbage collector and not one for
// each value; the words that stand for them among a command's arguments are set once all have been written.
type texts struct {
	bytes []byte
	ends  []int
	words [][]string // in pieces, which stay where they are
}

const wordsAtOnce = 1024

// word ends the text that was appended to bytes and gives the word that will be it.
func (t *texts) word() *string {
	t.ends = append(t.ends, len(t.bytes))
	last := len(t.words) - 1
	if last < 0 || len(t.words[last]) == wordsAtOnce {
		t.words, last = append(t.words, make([]string, 0, wordsAtOnce)), last+1
	}
	t.words[last] = append(t.words[last], "")
	return &t.words[last][len(t.words[last])-1]
}

// drop takes back what was appended to bytes since the last word.
func (t *texts) drop() {
	end := 0
	if len(t.ends) > 0 {
		end = t.ends[len(t.ends)-1]
	}
	t.bytes = t.bytes[:end]
}

// settle sets the words.
func (t *texts) settle() {
	all, start := string(t.bytes), 0
	for i, end := range t.ends {
		t.words[i/wordsAtOnce][i%wordsAtOnce] = all[start:end]
		start = end
	}
}
