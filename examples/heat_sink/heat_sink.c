/* A heat sink of straight fins under a fan. Prints how much warmer than the air it gets at 60 W, and three constraints.
   cc -O2 -o heat_sink heat_sink.c -lm
   heat_sink FINS THICKNESS HEIGHT SPEED MATERIAL      (mm, mm, m/s; aluminium, copper or magnesium) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    static const struct { const char *name; double conducts, density; } metals[] = {
        {"aluminium", 201, 2700}, {"copper", 390, 8940}, {"magnesium", 155, 1740}};
    if (count != 6) { fprintf(stderr, "heat_sink: five values wanted, got %d\n", count - 1); return 2; }
    int fins = atoi(words[1]), metal = -1;
    double thick = atof(words[2]) / 1e3, high = atof(words[3]) / 1e3, speed = atof(words[4]);
    for (int i = 0; i < 3; i++) if (!strcmp(words[5], metals[i].name)) metal = i;
    if (metal < 0) { fprintf(stderr, "heat_sink: no such metal: %s\n", words[5]); return 2; }
    const double side = 0.06, base = 0.004, watts = 60;
    double gap = (side - fins * thick) / (fins - 1);
    if (gap < 2e-4) { fprintf(stderr, "heat_sink: %d fins of %g mm leave no gap\n", fins, thick * 1e3); return 1; }

    /* air between two fins: laminar flow that is still developing (Teertstra and others, 2000) */
    double re = speed * gap / 1.6e-5 * gap / side, pr = 0.71;
    double slow = re * pr / 2, fast = 0.664 * sqrt(re) * cbrt(pr) * sqrt(1 + 3.65 / sqrt(re));
    double nusselt = pow(pow(slow, -3) + pow(fast, -3), -1.0 / 3), film = nusselt * 0.026 / gap;

    /* a fin by finite differences: 100 cells from the root to the tip, and its efficiency from the heat at the root */
    enum { cells = 100 };
    double dx = high / cells, k = metals[metal].conducts * thick / (dx * dx), c[cells], d[cells];
    double loss = 2 * film;
    for (int i = 0; i < cells; i++) {                       /* the tridiagonal system, top down and back */
        double below = k, above = i < cells - 1 ? k : 0, mid = below + above + loss;
        double pivot = i ? mid - below * c[i - 1] : mid;
        c[i] = above / pivot;
        d[i] = ((i ? 0 : k) + (i ? below * d[i - 1] : 0)) / pivot;
    }
    double t = 0, mean = 0;
    for (int i = cells - 1; i >= 0; i--) { t = d[i] + c[i] * t; mean += t / cells; }

    double area = fins * 2 * high * side * mean + (fins - 1) * gap * side;
    double through = base / (metals[metal].conducts * side * side);
    double air = 1.18 * 1007 * speed * (fins - 1) * gap * high;       /* the air gets warmer on its way */
    double rise = watts * (1 / (film * area) + through + 0.5 / air);
    double grams = 1e3 * metals[metal].density * side * (base * side + fins * thick * high);
    double drop = 1.18 * speed * speed / 2 * (0.8 + 96 / (speed * 2 * gap / 1.6e-5) * side / (2 * gap));
    double price = grams / 1e3 * (metal == 1 ? 9 : metal == 2 ? 6 : 3) + 0.02 * fins;
    printf("{\"value\": %.6f, \"constraints\": {\"mass\": %.6f, \"pressure\": %.6f, \"price\": %.6f}}\n",
           rise, grams / 250 - 1, drop / 40 - 1, price / 1.5 - 1);
    return 0;
}
