/**
 * Text that a spreadsheet may execute: `=`, `+`, `-` and `@`, also in their full-width forms, at the beginning or behind invisible
 * characters that readers drop (blanks, line ends, byte order marks, controls, fillers). A leading tab or line end alone may suffice too.
 * Source: OWASP, "CSV Injection", for the characters. Choice: CSV libraries check only the very first character.
 */
const FORMULA = /^(?:[\t\r\n]|[\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/u;

/**
 * Returns the text of a CSV cell, behind an apostrophe if a spreadsheet might take it for a formula. Extractions and the files of the
 * dashboard guard their cells alike. Only for text: a number with a minus sign must stay a number.
 */
export function guardedCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}
