/* { "own_context": "the init code changes", "does": "init code may break built-in functions", "k6": "its own summary calls what the script broke", "console": ["broken"] } */
Array.prototype.map = () => { throw new Error('broken'); };
export default function () { try { [1].map(String); } catch (error) { console.log(error.message); } }
