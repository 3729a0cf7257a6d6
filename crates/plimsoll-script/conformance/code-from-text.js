/* { "own_context": "Function", "does": "code can be made out of text", "console": ["5"] } */
export default function () { console.log(new Function('a', 'b', 'return a + b')(2, 3)); }
