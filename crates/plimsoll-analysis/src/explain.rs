//! Names what gives way first, from the record alone.
