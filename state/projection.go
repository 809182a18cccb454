package state

// Projection cuts a row into columns.
type Projection struct{ columns []Column }

// NewProjection prepares the columns for many rows.
func NewProjection(columns []Column) *Projection { return &Projection{columns} }

// AppendKey appends the key columns as a flat JSON object.
func (p *Projection) AppendKey(dst []byte, row *Row) ([]byte, error) { return dst, nil }

// AppendRow appends all columns as a flat JSON object.
func (p *Projection) AppendRow(dst []byte, row *Row) ([]byte, error) { return dst, nil }
