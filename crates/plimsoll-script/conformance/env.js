/* { "does": "__ENV holds the variables", "console": ["value undefined"] } */
export default function () { console.log(__ENV.NAME, __ENV.OTHER); }
