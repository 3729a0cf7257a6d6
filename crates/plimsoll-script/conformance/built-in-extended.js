/* { "own_context": "the init code changes", "does": "init code may extend built-in objects", "iterations": 2, "console": ["3", "3"] } */
Array.prototype.newest = function () { return this[this.length - 1]; };
export default function () { console.log([1, 2, 3].newest()); }
