/* { "does": "variables of a module live as long as the virtual user", "iterations": 3, "console": ["1", "2", "3"] } */
let seen = 0;
export default function () { seen += 1; console.log(seen); }
