// A module that other scripts import.
console.log('lib loaded');
let counted = 0;
export const add = (a, b) => a + b;
export function bump() { counted += 1; }
export function count() { return counted; }
