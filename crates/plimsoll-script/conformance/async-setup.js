/* { "own_context": "promises", "does": "setup may be async", "console": ["5"] } */
export async function setup() { await null; return { n: 5 }; }
export default function (data) { console.log(data.n); }
