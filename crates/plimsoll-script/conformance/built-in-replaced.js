/* { "own_context": "globalThis.shared", "does": "init code may replace built-in functions", "k6": "its own summary calls what the script replaced", "console": ["7", "1"] } */
const space = Math;
space.max = () => 7;
globalThis.shared = 1;
export default function () { console.log(Math.max(1, 2)); console.log(shared); }
